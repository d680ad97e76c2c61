import { defineEval } from 'eve/evals';
import { mock, outcome } from 'eve-mocks/evals';

const look = { response: { $tools: [{ tool: 'tasks__list_tasks' }] } };
const said = { response: 'That is all.' };
const ask = 'What is there to do?';

export default defineEval({
  async test(t) {
    mock(t, 'gpt-5.5', outcome(look, said, look, said, look, said));
    mock(t, 'list_tasks', (input) => ({ tasks: [`asked with ${JSON.stringify(input)}`] }));
    const first = await t.send(ask);
    first.calledTool('tasks__list_tasks', { output: /asked with \{\}/ });
    mock(t, 'list_tasks', outcome({ response: { tasks: ['Pay rent'] } }));
    const session = await t.session();
    (await session.send(ask)).calledTool('tasks__list_tasks', { output: /Pay rent/ });
    (await first.session.send(ask)).calledTool('tasks__list_tasks', { output: /Pay rent/ });
    await mock('run', 'judgment', 0.95);
    t.judge('It is all.').gate(0.92);
  },
});
