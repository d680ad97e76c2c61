import { defineAgent } from 'eve';

export default defineAgent({ description: 'Looks things up in the list of tasks.', model: 'openai/gpt-5.5' });
