import { defineEval } from 'eve/evals';
import { includes } from 'eve/evals/expect';
import { mock, outcome } from 'eve-mocks/evals';

export default defineEval({
  async test(t) {
    mock(t, 'list_tasks', (input) => ({ tasks: [`asked with ${JSON.stringify(input)}`] }));
    const first = await t.send('What is there to do?');
    t.check(first.message, includes('asked with {}'));
    mock(t, 'list_tasks', outcome({ response: { tasks: ['Pay rent'] } }));
    const session = await t.session();
    t.check((await session.send('And now?')).message, includes('Pay rent'));
    t.check((await first.session.send('And now?')).message, includes('Pay rent'));
  },
});
