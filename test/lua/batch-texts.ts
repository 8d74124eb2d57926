/** Payloads of a batch and its jobs, functions that push them, and their outcomes as arguments of exchange.lua. */
import { withTies } from '../../src/payload/ties';
import { type Argument, keysOf, probe, type ScriptWorld } from './script-world';

export const ID = 'batch-1';
export const CAUSE = '{"id":"a","name":"Probe","message":"no"}';
const META = '{"name":"Probe","exception":"Error: no"}';
export const EVENTS = ['then', 'catch', 'finally', 'next', 'progress'];

export const member = (id: string, weight = 1, attempts = 0): string =>
  withTies(probe(id, attempts), { batch: { id: ID, weight } });
export const told = (id: string, cause = ''): string => `{"job":"told",${cause}"id":"${id}","attempts":0}`;

export const completed = (...texts: readonly string[]): readonly Argument[] => [
  ...['completed+batch', 1, texts.length, ID, -1, 1, 0, 0],
  ...texts,
];
export const failed = (text: string, cause = CAUSE): readonly Argument[] => [
  ...['failed+batch', 1, 1, ID, -1, 0, 1, 0, text, text.indexOf(',"attempts"'), ',"attempts":1}', 'a', META, cause],
];

export const batchKeys = (world: ScriptWorld): readonly string[] => {
  const { batches, begunBatches, cancelledBatches } = world.queue();
  return [batches, begunBatches, cancelledBatches];
};

/** Pushes payloads of the batch with their weights. `begins` has the fields of a batch that begins with them. */
export type Pushed = readonly [
  texts: readonly string[],
  weights: readonly number[],
  beginning?: readonly Argument[],
  sequence?: number,
];

/** Pushes to `q`. The callbacks of the batch go to `told`. */
export function pushMembers(
  world: ScriptWorld,
  ...[texts, weights, beginning = [], sequence = world.nextSequence()]: Pushed
): Promise<unknown[]> {
  const { client, ready, delayed, notify, unique } = world.queue();
  const own = world.queue('told');
  const callbackKeys = EVENTS.flatMap(() => [own.ready, own.delayed, own.notify]);
  const sent = EVENTS.flatMap((event) => [event, 0, '{"job":"told",', event]);
  const arguments_ = [ID, weights.reduce((sum, one) => sum + one, 0), weights.join(' ')];
  const batch = beginning.length === 0 ? arguments_ : [...arguments_, ...beginning, ...sent];
  return world.run(
    'push',
    [
      client('pusher'),
      ready,
      delayed,
      notify,
      unique,
      ...world.laneKeys,
      ...batchKeys(world),
      ...(beginning.length === 0 ? [] : callbackKeys),
    ],
    [sequence, 0, texts.length, ...keysOf(texts), ...texts, ...batch, batch.length],
  );
}
