import { defineMcpClientConnection } from 'eve/connections';

export default defineMcpClientConnection({ url: 'https://tasks.example.com/mcp', description: 'The list of tasks.' });
