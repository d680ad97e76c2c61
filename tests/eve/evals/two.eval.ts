import { defineEval } from 'eve/evals';
import { includes } from 'eve/evals/expect';
import { getState, mock, outcome, seed } from 'eve-mocks/evals';

export default defineEval({
  async test(t) {
    seed(t, 'notes', { notes: ['two'] });
    mock(t, 'list_tasks', { tasks: ['Buy bread'] });
    mock(
      t,
      'gpt-5.5',
      outcome(
        { response: { $tools: [{ tool: 'tasks__list_tasks' }] } },
        { response: { $tools: [{ tool: 'notes__addNote', input: { body: { text: 'buy bread' } } }] } },
        { response: 'I noted the bread.' },
      ),
    );
    const turn = await t.send('Note what there is to do.');
    t.succeeded();
    t.toolOrder(['tasks__list_tasks', 'notes__addNote']);
    t.calledTool('tasks__list_tasks', { output: /Buy bread/ });
    t.check(turn.message, includes('bread'));
    const state = await getState<{ notes: string[] }>(turn, 'notes');
    t.check(state.notes.join(), includes('two,buy bread'));
  },
});
