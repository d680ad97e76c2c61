import { defineAgent } from 'eve';

export default defineAgent({ model: 'openai/gpt-5.5' });
