/** Failed jobs for which there is no failed store: buried, and kicked to run again. */
import type { Buried } from '../contract';
import type { BeanstalkdCaller } from './caller';
import { tubeCounts } from './protocol';

export class BuriedJobs implements Buried {
  readonly #caller: BeanstalkdCaller;
  readonly #tubeOf: (queue: string) => string;
  readonly #queues: () => Promise<readonly string[]>;

  constructor(caller: BeanstalkdCaller, tubeOf: (queue: string) => string, queues: () => Promise<readonly string[]>) {
    this.#caller = caller;
    this.#tubeOf = tubeOf;
    this.#queues = queues;
  }

  async count(queue: string): Promise<number> {
    const question = { consequence: 'the buried jobs were not counted', repeatable: true };
    const [reply] = await this.#caller.call(() => [`stats-tube ${this.#tubeOf(queue)}`], question);
    return tubeCounts(reply!).buried;
  }

  /** One by one: a kick of many would take delayed jobs once no buried ones are left. */
  async kick(): Promise<number> {
    return this.#each('kick-job', 'KICKED', await this.#queues());
  }

  async flush(queue?: string): Promise<number> {
    return this.#each('delete', 'DELETED', queue === undefined ? await this.#queues() : [queue]);
  }

  async #each(command: string, done: string, queues: readonly string[]): Promise<number> {
    const question = { consequence: 'not all buried jobs were reached', repeatable: true };
    let count = 0;
    for (const queue of queues) {
      const tube = this.#tubeOf(queue);
      // No more than there are now: a job that fails again is buried again.
      for (let left = await this.count(queue); left > 0; left -= 1) {
        const first = (await this.#caller.call((link) => [...link.use(tube), 'peek-buried'], question)).at(-1)!;
        if (first.word !== 'FOUND') break;
        const [reply] = await this.#caller.call(() => [`${command} ${first.args[0]}`], question);
        if (reply!.word === done) count += 1;
      }
    }
    return count;
  }
}
