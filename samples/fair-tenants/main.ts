/** Lanes: one tenant's thousand jobs do not hold up the ten of another, and jobs of one account run in order through retries. */
import { Job, Queue, silentLogger, Worker } from 'onqueue';

const ended: string[] = [];
const running = new Map<string, number>();
const most = new Map<string, number>();

@Job({ lane: { by: (job: Sync) => job.tenant, running: 3 } })
class Sync extends Job {
  constructor(readonly tenant: string) {
    super();
  }

  async handle(): Promise<void> {
    const now = (running.get(this.tenant) ?? 0) + 1;
    running.set(this.tenant, now);
    most.set(this.tenant, Math.max(most.get(this.tenant) ?? 0, now));
    await new Promise<void>((resolve) => setImmediate(resolve));
    running.set(this.tenant, running.get(this.tenant)! - 1);
    ended.push(this.tenant);
  }
}

@Job({ tries: 2, backoff: '10ms', lane: { by: (job: Post) => job.account, running: 1, ordered: true } })
class Post extends Job {
  constructor(
    readonly account: string,
    readonly entry: number,
  ) {
    super();
  }

  async handle(): Promise<void> {
    if (this.account === 'rent' && this.entry === 1 && this.job.attempts === 1) throw new Error('the bank is busy');
    ended.push(`${this.account} ${this.entry}`);
  }
}

async function main(): Promise<void> {
  Queue.configure({ connections: { memory: { driver: 'memory' } }, logger: silentLogger });

  await Queue.bulk(Array.from({ length: 1000 }, () => new Sync('big')));
  await Queue.bulk(Array.from({ length: 10 }, () => new Sync('small')));
  const { lanes } = await Queue.lanes('default');
  for (const { lane, inside, held } of lanes) console.log(`${lane}: ${inside} in, ${held} held`);

  await new Worker({ concurrency: 6, maxJobs: 60 }).run();
  const small = ended.flatMap((tenant, at) => (tenant === 'small' ? [at] : []));
  console.log(`the ten of small ended among the first ${Math.ceil((small.at(-1)! + 1) / 10) * 10} jobs`);
  console.log(`at most ${most.get('big')} of big ran at once`);

  // A limit by hand: it counts for all workers until it is changed again.
  await Queue.lane('default', 'big').limit(5);
  most.clear();
  await new Worker({ concurrency: 6, maxJobs: 30 }).run();
  console.log(`with a limit of 5, ${most.get('big')} of big ran at once`);
  await Queue.clear();

  ended.length = 0;
  for (const entry of [1, 2, 3]) {
    await Post.dispatch('rent', entry);
    await Post.dispatch('food', entry);
  }
  await new Worker({ concurrency: 4, drain: true }).run();
  for (const account of ['rent', 'food'])
    console.log(`in order: ${ended.filter((one) => one.startsWith(account)).join(', ')}`);
  await Queue.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
