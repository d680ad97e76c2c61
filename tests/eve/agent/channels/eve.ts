import { localDev } from 'eve/channels/auth';
import { eveChannel } from 'eve/channels/eve';

const authenticate = localDev();

// Local callers may replace tools by eve's own stubs.
export default eveChannel({
  auth: async (request) => {
    const caller = await authenticate(request);
    return caller && { ...caller, allowToolStubs: true };
  },
});
