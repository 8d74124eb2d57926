/** What the registry knows of one job class. */
import type { Class } from '../base/class';
import type { JobOptions } from './options';
import type { ScheduleOptions } from './schedule';

export type { Class };

/** An instance of a job class, and not the class itself: of all objects, only functions have this member. */
export type JobInstance = object & { readonly [Symbol.hasInstance]?: never };

export interface JobDefinition {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly version: number | undefined;
  readonly upgrade: JobOptions['upgrade'];
  readonly target: Class;
  readonly schedule?: ScheduleOptions | undefined;
  /** Own options over those of the parents; those that stand above are never inherited. */
  readonly options: Readonly<Omit<JobOptions, 'name' | 'aliases' | 'version' | 'upgrade' | 'schedule'>>;
  /** Where the class was declared, as far as a stack can tell. */
  readonly file: string | undefined;
}
