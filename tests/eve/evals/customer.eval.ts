import { defineEval } from 'eve/evals';
import { includes } from 'eve/evals/expect';
import { mock, outcome } from 'eve-mocks/evals';

// The connection's URL is another in each session.
export default defineEval({
  async test(t) {
    mock(
      t,
      'gpt-5.5',
      outcome(
        { response: { $tools: [{ tool: 'eve__search', input: { query: 'crm__' } }] } },
        { response: { $tools: [{ tool: 'crm__find_customer' }] } },
        { response: 'It is Ada.' },
      ),
    );
    const turn = await t.send('Who is the customer?');
    t.succeeded();
    t.calledTool('crm__find_customer', { output: /Ada/ });
    t.check(turn.message, includes('Ada'));
  },
});
