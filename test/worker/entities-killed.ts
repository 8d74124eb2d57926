/** A job with an entity, for two processes. */
import { type EntityAdapter, Job } from '../../src/index';
import { reference, rows } from '../../src/entities';

@Job({ tries: 1 })
export class CarriesRow extends Job {
  readonly row = reference<{ id: number }>('row', 1);

  handle(): unknown {
    return [this.row, this.attempts];
  }
}

export const entities = (many: (ids: number[]) => Promise<object[]>): EntityAdapter => rows({ row: { many } });
