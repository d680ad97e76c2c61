import { defineEval } from 'eve/evals';
import { mock } from 'eve-mocks/evals';

export default defineEval({
  async test(t) {
    mock(t, 'list_task', { tasks: [] });
    await t.send('What is there to do?');
  },
});
