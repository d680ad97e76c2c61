import { defineEval } from 'eve/evals';
import { includes } from 'eve/evals/expect';
import { getState, mock, outcome, seed } from 'eve-mocks/evals';

export default defineEval({
  async test(t) {
    seed(t, 'notes', { notes: ['one'] });
    mock(t, 'list_tasks', { tasks: ['Buy milk'] });
    mock(
      t,
      'gpt-5.5',
      outcome(
        { response: { $tools: [{ tool: 'tasks__list_tasks' }] } },
        { response: { $tools: [{ tool: 'notes__addNote', input: { body: { text: 'buy milk' } } }] } },
        { response: 'I noted the milk.' },
      ),
    );
    const turn = await t.send('Note what there is to do.');
    t.succeeded();
    t.toolOrder(['tasks__list_tasks', 'notes__addNote']);
    t.calledTool('tasks__list_tasks', { output: /Buy milk/ });
    t.check(turn.message, includes('milk'));
    const state = await getState<{ notes: string[] }>(turn, 'notes');
    t.check(state.notes.join(), includes('one,buy milk'));
  },
});
