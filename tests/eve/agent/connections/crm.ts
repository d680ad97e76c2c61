import { defineDynamic, defineMcpClientConnection } from 'eve/connections';

// Where it is depends on the session.
export default defineDynamic({
  events: {
    'session.started': (_event, ctx) =>
      defineMcpClientConnection({
        url: `https://${ctx.session.id.toLowerCase().replace(/[^a-z0-9]/g, '-')}.crm.example.com/mcp`,
        description: 'Customers.',
      }),
  },
});
