/** An import that takes long: a download, a thousand rows, and a payment. It tells the program that started its process what it does. */
import { setTimeout as pause } from 'node:timers/promises';
import { Job } from 'onqueue';

/** What a worker tells: that something is done, or which row. */
export type Told = 'download' | 'charge' | number;

const tell = (told: Told): void => void process.send?.(told);

/** How many rows a file has. */
export const ROWS = 1000;

@Job({ queue: 'imports', timeout: 0, checkpoints: true })
export class ImportOrders extends Job {
  constructor(readonly url: string) {
    super();
  }

  async handle(): Promise<void> {
    const file = await this.step('download', async () => {
      await pause(200);
      tell('download');
      return { rows: ROWS, at: new Date() };
    });

    // Every twentieth row pauses: the whole list takes a few seconds.
    for (let row = (this.checkpointed<number>('rows') ?? 0) + 1; row <= file.rows; row += 1) {
      if (row % 20 === 0) await pause(60);
      tell(row);
      await this.checkpoint('rows', row);
      if (this.job.stopping.aborted) return this.job.defer();
    }

    // A service that takes money gets a key that is the same in each attempt.
    await this.step('charge', async () => {
      await pause(50);
      tell('charge');
      return this.stepKey('charge');
    });
  }
}
