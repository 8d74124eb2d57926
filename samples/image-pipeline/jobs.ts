/** Each picture is drawn, then made smaller: a chain. All of them are a batch, which reports. */
import { join } from 'node:path';
import { Inject, Job, Queue } from 'onqueue';
import { draw, read, resize, write } from './image';

export const QUEUE = 'image-pipeline';

/** Where the pictures go; injected, as each machine has its own. */
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
    // A disk that is slow now and then: the attempt fails, and its chain goes on with the next.
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
