/**
 * What stands beside an instance: on it, it would be data.
 *
 * A subclass adds its private fields to the job that its constructor is given, also to one that is frozen or was made
 * without its own constructor. A `WeakMap` would be simpler, but keeps each job until a full garbage collection, and young
 * collections copy it until then.
 */
export const Given = function (job: object): object {
  return job;
} as unknown as new (job: object) => object;
