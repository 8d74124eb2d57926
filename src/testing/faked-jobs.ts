/** Which jobs a fake keeps, where it does not keep all: the others go to the program's own connections. */
import type { Class } from '../job/definition';
import { definitionOfJob } from '../job/definition-of';
import { registry } from '../job/registry';
import { decodeEnvelope } from '../payload/envelope';
import type { Entry } from '../connections/contract';

export interface FakedJobsOptions {
  /** These, and classes that extend them, are faked; all others go where they go without a fake. Default: all. */
  readonly only?: readonly Class[] | undefined;
  /** These, and classes that extend them, go where they go without a fake. Default: none. */
  readonly except?: readonly Class[] | undefined;
}

export class FakedJobs {
  readonly #only: readonly Class[] | undefined;
  readonly #except: readonly Class[];

  /** @throws E_UNDECORATED_JOB a class that is no job would never be met */
  constructor({ only, except = [] }: FakedJobsOptions) {
    for (const job of [...(only ?? []), ...except]) definitionOfJob(Object.create(job.prototype) as object);
    this.#only = only;
    this.#except = except;
  }

  get areAll(): boolean {
    return this.#only === undefined && this.#except.length === 0;
  }

  /** What no class here is known for, by its name or an alias, is faked where `only` does not say which are. */
  has({ payload }: Entry): boolean {
    const job = classOf(payload);
    const isAmong = (classes: readonly Class[]): boolean =>
      classes.some((one) => job !== undefined && (job === one || job.prototype instanceof one));
    return (this.#only === undefined || isAmong(this.#only)) && !isAmong(this.#except);
  }
}

function classOf(text: string): Class | undefined {
  try {
    const { names } = decodeEnvelope(Buffer.from(text));
    return names.map((name) => registry().classOf(name)).find((found) => found !== undefined);
  } catch {
    // `pushRaw` takes any text.
    return undefined;
  }
}
