import { defineEval } from 'eve/evals';
import { includes } from 'eve/evals/expect';
import { getState, mock, seed } from 'eve-mocks/evals';

export default defineEval({
  async test(t) {
    mock(t, 'list_tasks', { tasks: ['Walk dog'] });
    seed(t, 'notes', { notes: ['two'] });
    const turn = await t.send('What is there to do?');
    t.succeeded();
    t.check(turn.message, includes('Walk dog'));
    const state = await getState<{ notes: string[] }>(turn, 'notes');
    t.check(state.notes.join(), includes('two'));
  },
});
