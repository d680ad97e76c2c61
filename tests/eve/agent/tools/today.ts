import { defineTool } from 'eve/tools';
import { z } from 'zod';

export default defineTool({
  description: 'Which day it is.',
  inputSchema: z.object({}),
  execute: () => ({ day: 'Monday' }),
});
