import { defineOpenAPIConnection } from 'eve/connections';

export default defineOpenAPIConnection({
  spec: 'https://notes.example.com/openapi.json',
  description: 'Notes that are kept.',
  auth: { getToken: async () => ({ token: 'none' }) },
});
