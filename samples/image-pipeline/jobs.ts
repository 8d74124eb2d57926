/** Each picture is drawn and then made smaller, in a chain. A batch holds all chains and reports on them. */
import { join } from 'node:path';
import { Inject, Job, Queue } from 'onqueue';
import { draw, read, resize, write } from './image';

export const QUEUE = 'image-pipeline';

/** Where the pictures go. It is injected rather than sent with the jobs, because each machine has its own. */
export class Gallery {
  readonly lines: string[] = [];

  constructor(readonly folder: string) {}

  fileOf(number: number, size: number): string {
    return join(this.folder, `${number}-${size}.ppm`);
  }
}

@Job({ queue: QUEUE, tries: 3, backoff: '100ms', timeout: '10s' })
export class Draw extends Job {
  constructor(
    readonly number: number,
    readonly size: number,
  ) {
    super();
  }

  async handle(@Inject(Gallery) gallery: Gallery): Promise<void> {
    // Simulates a disk that is sometimes busy: the attempt fails, the next one succeeds and the chain goes on.
    if (this.number % 25 === 0 && this.attempts === 1) throw new Error('the disk was busy');
    await write(gallery.fileOf(this.number, this.size), draw(this.number, this.size));
  }
}

@Job({ queue: QUEUE, tries: 3, backoff: '100ms', timeout: '10s' })
export class Resize extends Job {
  constructor(
    readonly number: number,
    readonly from: number,
    readonly size: number,
  ) {
    super();
  }

  async handle(@Inject(Gallery) gallery: Gallery): Promise<void> {
    const { number, from, size } = this;
    await write(gallery.fileOf(number, size), resize(await read(gallery.fileOf(number, from)), size));
  }
}

@Job({ queue: QUEUE })
export class Report extends Job {
  constructor(readonly event: 'progress' | 'then' | 'catch' | 'finally') {
    super();
  }

  async handle(@Inject(Gallery) gallery: Gallery): Promise<void> {
    const batch = await Queue.batches.get(this.job.batch?.id ?? '');
    const why = this.job.cause === undefined ? '' : ` (${this.job.cause.message})`;
    gallery.lines.push(this.event);
    console.log(`${this.event}: ${batch?.completed} of ${batch?.total} jobs done${why}`);
  }
}
