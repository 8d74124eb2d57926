/**
 * Draws a hundred pictures and scales each down twice: a batch of chains that reports its progress.
 *
 * `npm run sample -- image-pipeline` keeps the jobs in a SQLite file; with `REDIS_URL=redis://127.0.0.1:6379` it keeps them
 * in Redis. Afterwards the queue is empty and the pictures are removed. `npm run sample -- image-pipeline dashboard` also
 * shows the work in a browser, and runs until Ctrl+C.
 */
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue, silentLogger, Worker } from 'onqueue';
import { container } from 'tsyringe';
import { serveDashboard } from './dashboard';
import { Draw, Gallery, QUEUE, Report, Resize } from './jobs';

const PICTURES = 100;

function* pictures(): Generator<[Draw, Resize, Resize]> {
  for (let number = 1; number <= PICTURES; number += 1) {
    yield [new Draw(number, 96), new Resize(number, 96, 48), new Resize(number, 48, 24)];
  }
}

async function main(): Promise<void> {
  Queue.configure({ logger: silentLogger });
  console.log(`Jobs are kept in ${Queue.connection().address}, in the queue "${QUEUE}".`);
  await Queue.clear(QUEUE);
  const stopped = once(process, 'SIGINT');
  const panel = process.argv[2] === 'dashboard' ? await serveDashboard() : undefined;

  const gallery = new Gallery(await mkdtemp(join(tmpdir(), 'onqueue-pictures-')));
  container.registerInstance(Gallery, gallery);
  try {
    const batch = await Queue.batch(pictures())
      .name('pictures')
      .onQueue(QUEUE)
      .progress(new Report('progress'), { every: 75 })
      .then(new Report('then'))
      .catch(new Report('catch'))
      .finally(new Report('finally'))
      .dispatch();
    console.log(`The batch ${batch.id} has ${batch.total} jobs.`);

    const worker = new Worker({ queue: QUEUE, concurrency: 10, drain: true });
    void stopped.then(() => worker.stop());
    await worker.run();

    const end = await batch.refresh();
    const files = await readdir(gallery.folder);
    console.log(`${files.length} pictures, ${end?.completed} of ${end?.total} jobs done, ${end?.failed} failed.`);
    if (panel !== undefined) await stopped;
  } finally {
    panel?.close();
    await Queue.close();
    await rm(gallery.folder, { recursive: true });
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
