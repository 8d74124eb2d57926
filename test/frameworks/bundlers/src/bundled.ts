/** One bundle, minified: the configuration is given, for no file stands beside it. */
import { Queue, Worker } from 'onqueue';
import configuration from '../onqueue.config.js';
import { Greet } from '#jobs/greet.js';

async function main() {
  Queue.configure(configuration);
  await Greet.dispatch('Ada');
  const reason = await new Worker({ queue: 'greetings', stopWhenEmpty: true }).run();
  await Queue.close();
  console.log(reason);
}

void main();
