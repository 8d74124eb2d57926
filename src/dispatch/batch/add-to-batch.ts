/** More jobs for a batch that is there. */
import type { BatchReference } from '../../connections/application';
import type { Onward } from '../../connections/onward';
import type { BatchMember, BatchSource } from '../../job/batch';
import { invalidBatch } from '../../job/errors';
import { positioned, sendBulk } from '../bulk';
import type { DispatchApplication } from '../dispatch-application';
import { Chunks } from './chunks';
import { Members } from './members';
import { placeOf } from './send-batch';

/** Sends them; gives how many. */
export async function addToBatch(
  manager: DispatchApplication,
  batch: BatchReference,
  jobs: BatchSource,
): Promise<number> {
  const chunks = new Chunks(jobs, new Members(manager, placeOf(manager, batch)), manager.clock);
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

/** Those that go in with the outcome of one of its jobs. */
export function membersOf(
  manager: DispatchApplication,
  batch: BatchReference,
  jobs: Iterable<BatchMember>,
): readonly Onward[] {
  if (typeof jobs !== 'object' || jobs === null || !(Symbol.iterator in jobs))
    throw invalidBatch(
      jobs,
      'add() takes a list of jobs, as in add([new Resize(1)]), and addNow() a generator as well.',
    );
  const members = new Members(manager, placeOf(manager, batch));
  return Array.from(jobs).flatMap((job) => members.encodeFollower(job) ?? []);
}
