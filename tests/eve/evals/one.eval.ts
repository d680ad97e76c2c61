import { defineEval } from 'eve/evals';
import { includes } from 'eve/evals/expect';
import { getState, mock, seed } from 'eve-mocks/evals';

export default defineEval({
  async test(t) {
    mock(t, 'list_tasks', { tasks: ['Buy milk'] });
    seed(t, 'notes', { notes: ['one'] });
    const turn = await t.send('What is there to do?');
    t.succeeded();
    t.check(turn.message, includes('Buy milk'));
    const state = await getState<{ notes: string[] }>(turn, 'notes');
    t.check(state.notes.join(), includes('one'));
  },
});
