/** What the registry knows of one job class. */
import type { Class } from '../base/class';
import type { JobFormat } from './format';
import type { JobOptions } from './options';
import type { ScheduleOptions } from './schedule';

export type { Class };

/** An instance of a job class, not the class itself: functions are the only objects with this member. */
export type JobInstance = object & { readonly [Symbol.hasInstance]?: never };

export interface JobDefinition {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly version: number | undefined;
  readonly upgrade: JobOptions['upgrade'];
  readonly target: Class;
  /** Undefined: Onqueue's own. */
  readonly format?: JobFormat | undefined;
  readonly schedule?: ScheduleOptions | undefined;
  /** Own options over those of the parents. The fields above are never inherited. */
  readonly options: Readonly<Omit<JobOptions, 'name' | 'aliases' | 'version' | 'upgrade' | 'schedule' | 'format'>>;
  /** Where the class was declared, if the stack told. */
  readonly file: string | undefined;
}
