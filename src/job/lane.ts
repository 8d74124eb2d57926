/** The option `lane` of a job: how many jobs of one key may be ready or running at a time, over all workers. */
import { membersOf, type Kind } from './option-kinds';

export interface LaneOptions {
  /**
   * The lane of a job: a number, or a text of 1 to 1000 characters, made from the job's data. Write the job's type:
   * `by: (job: Sync) => job.tenant`. All jobs of a queue share its lanes, whatever their class.
   */
  by(this: void, job: object): string | number;
  /** How many jobs of one lane may be ready or running in their queue at a time. */
  readonly running: number;
  /**
   * With `running: 1`: no job of a lane overtakes another, not even while that one waits for its next attempt. Default: `false`.
   */
  readonly ordered?: boolean | undefined;
}

export interface Laned {
  readonly by: (job: object) => unknown;
  readonly running: number;
  readonly ordered: boolean;
}

const REMEDY = 'give { by, running }, such as { by: (job: Sync) => job.tenant, running: 3 }';
const RUNNING_REMEDY =
  'it needs running: how many jobs of one lane may be ready or running at a time, from 1; for fairness alone, the number of slots you have';

/** Most that a payload can say. */
const MOST = 999_999_999;

const members = membersOf(['by', 'running', 'ordered'], REMEDY);

/** Undefined if it has none. */
export const lane: Kind<Laned | undefined> = (value, place) => {
  if (value === false) return undefined;
  const { by, running, ordered = false } = members(value, place);
  if (typeof by !== 'function' || typeof ordered !== 'boolean') throw place.refuse(value, REMEDY);
  if (!Number.isSafeInteger(running) || (running as number) < 1 || (running as number) > MOST)
    throw place.refuse(value, RUNNING_REMEDY);
  if (ordered && running !== 1) throw place.refuse(value, '`ordered` needs running: 1');
  return { by: by as Laned['by'], running: running as number, ordered };
};
