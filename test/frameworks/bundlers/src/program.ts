/** Dispatches, works and ends; the job is loaded here and, another time, by the configuration. */
import { Queue, silentLogger, Worker } from 'onqueue';
import { Greet } from '#jobs/greet.js';

await Greet.dispatch('Ada');
const reason = await new Worker({ queue: 'greetings', stopWhenEmpty: true }).run();
await Queue.close();
console.log(reason, typeof silentLogger);
