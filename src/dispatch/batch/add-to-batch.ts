/** Adds jobs to an existing batch. */
import type { BatchReference } from '../../connections/application';
import type { Onward } from '../../connections/entries';
import type { BatchMember, BatchSource } from '../../job/batch';
import { invalidBatch } from '../../job/errors';
import { positioned, sendBulk } from '../bulk';
import type { DispatchApplication } from '../dispatch-application';
import { Chunks } from './chunks';
import { Members } from './members';
import { placeOf } from './send-batch';

/** Sends the jobs, and returns how many went in. */
export async function addToBatch(
  manager: DispatchApplication,
  batch: BatchReference,
  jobs: BatchSource,
): Promise<number> {
  const chunks = new Chunks(jobs, new Members(manager, placeOf(manager, batch, batch.jobs)), manager.clock);
  let [added, sent] = [0, 0];
  try {
    for (let isLast = false; !isLast;) {
      const chunk = await chunks.next();
      isLast = chunk.isLast;
      const ids = await sendBulk(chunk.jobs, (name) => manager.driver(name));
      added += ids.filter((id, at) => id === chunk.jobs[at]!.id).length;
      sent += chunk.jobs.length;
    }
    return added;
  } catch (error) {
    chunks.close();
    throw sent === 0 ? error : positioned(error, `behind the first ${sent} jobs, which are in`);
  }
}

/** The jobs that go in with the outcome of one of the batch's jobs. */
export function membersOf(
  manager: DispatchApplication,
  batch: BatchReference,
  jobs: Iterable<BatchMember>,
): readonly Onward[] {
  if (typeof jobs !== 'object' || jobs === null || !(Symbol.iterator in jobs))
    throw invalidBatch(
      jobs,
      'add() takes a list of jobs, as in add([new Resize(1)]); addNow() also takes a generator.',
    );
  const members = new Members(manager, placeOf(manager, batch, batch.jobs));
  return Array.from(jobs).flatMap((job) => members.encodeFollower(job) ?? []);
}
