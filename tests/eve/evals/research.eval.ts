import { defineEval } from 'eve/evals';
import { includes } from 'eve/evals/expect';
import { getCalls, mock, outcome } from 'eve-mocks/evals';

// What is pinned for an eval, its subagents get too.
export default defineEval({
  async test(t) {
    mock(t, 'list_tasks', { tasks: ['Feed the cat'] });
    mock(
      t,
      'gpt-5.5',
      outcome(
        { response: { $tools: [{ tool: 'researcher', input: { message: 'What is to be fed?' } }] } },
        { response: { $tools: [{ tool: 'eve__task_wait' }] } },
        { response: 'It is the cat.' },
      ),
    );
    const turn = await t.send('What is to be fed?');
    t.succeeded();
    t.calledSubagent('researcher', { output: /plants are dry/ });
    t.check(turn.message, includes('the cat'));
    const calls = await getCalls(turn);
    const mine = calls.filter((call) => call.operation === 'list_tasks' && call.agent !== turn.sessionId);
    t.check(JSON.stringify(mine), includes('Feed the cat'));
  },
});
