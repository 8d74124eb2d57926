/** The texts of a batch and of its jobs, and outcomes of these as exchange.lua takes them. */
import { withTies } from '../../src/payload/ties';
import { type Argument, probe } from './script-world';

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
