import { defineEval } from 'eve/evals';
import { includes } from 'eve/evals/expect';

// The model says what its script says, and the judge too.
export default defineEval({
  async test(t) {
    const turn = await t.send('What is there to do?');
    t.succeeded();
    t.calledTool('tasks__list_tasks', { count: 1 });
    t.calledTool('today', { count: 1 });
    t.check(turn.message, includes('the plants want water'));
    t.judge('It says what is to be done.').gate(0.8);
  },
});
