/** A worker in a process of its own, to be killed: `worker-child.ts <configuration as JSON> <worker options as JSON>`. */
import { appendFileSync } from 'node:fs';
import { Job, Queue, silentLogger, Worker, type WorkerOptions } from 'onqueue';

/** Notes each run in a file, which outlives a killed process. */
@Job({ tries: 1, timeout: 0 })
export class Notes extends Job {
  constructor(
    readonly file: string,
    readonly name: string,
    readonly milliseconds: number,
  ) {
    super();
  }

  async handle(): Promise<void> {
    appendFileSync(this.file, `${this.name} started ${this.fence} ${this.attempts}\n`);
    if (this.milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, this.milliseconds));
    appendFileSync(this.file, `${this.name} done ${this.fence} ${this.attempts}\n`);
  }
}

const [configuration, options] = process.argv.slice(2);

if (configuration !== undefined && require.main === module) {
  Queue.configure({ ...(JSON.parse(configuration) as object), logger: silentLogger });
  const worker = new Worker(JSON.parse(options ?? '{}') as WorkerOptions);
  process.once('SIGTERM', () => void worker.stop());
  console.log('ready');
  void worker.run().then(async (reason) => {
    console.log(reason);
    await Queue.close();
  });
}
