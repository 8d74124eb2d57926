/** Names places in a JSON tree: as JSON Pointers (RFC 6901) in payloads, and as paths in errors. */
import { InvalidPayloadError } from './errors';

export type Segment = string | number;

/** How deep values may be nested: far more than data need, far less than a stack holds. */
export const MAX_DEPTH = 512;

/** Steps of a path that an error shows; of a longer path, its beginning and its end. */
const LONGEST_PATH = 16;

/** A container and the place in it that a pointer names. */
export interface Location {
  readonly parent: Record<Segment, unknown>;
  readonly key: Segment;
}

export function toPointer(segments: readonly Segment[]): string {
  let pointer = '';
  for (const segment of segments) {
    pointer += `/${typeof segment === 'number' ? segment : segment.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  return pointer;
}

/** As a program would write it: `SendEmail.items[3].owner`. */
export function toPath(subject: string, segments: readonly Segment[]): string {
  if (segments.length <= LONGEST_PATH) return segments.reduce<string>(joinedPath, subject);
  const last = segments.slice(-LONGEST_PATH / 2).reduce<string>(joinedPath, '');
  return `${segments.slice(0, LONGEST_PATH / 2).reduce<string>(joinedPath, subject)}…${last}`;
}

function joinedPath(path: string, segment: Segment): string {
  if (typeof segment === 'number') return `${path}[${segment}]`;
  return /^[A-Za-z_$][\w$]*$/.test(segment) ? `${path}.${segment}` : `${path}[${JSON.stringify(segment)}]`;
}

/** The number of steps in a pointer. */
export function depthOf(pointer: string): number {
  let depth = 0;
  for (let at = pointer.indexOf('/'); at !== -1; at = pointer.indexOf('/', at + 1)) depth++;
  return depth;
}

/**
 * Finds the value that `pointer` names in `root.value`, through own members of plain objects and arrays only.
 *
 * @param place JSON Pointer to the root, for errors
 * @throws InvalidPayloadError when it is not a pointer, or there is nothing at the place
 */
export function locate(root: { value: unknown }, pointer: string, place: string): Location {
  let parent = root as unknown as Record<Segment, unknown>;
  let key: Segment = 'value';
  if (pointer === '') return { parent, key };
  const [start, ...segments] = pointer.split('/');
  if (start !== '') throw new InvalidPayloadError('a JSON Pointer starts with /', place + pointer);
  for (const segment of segments) {
    parent = parent[key] as Record<Segment, unknown>;
    const step = unescaped(segment);
    if (step === undefined) throw new InvalidPayloadError('in a JSON Pointer, ~ is written ~0', place + pointer);
    key = step;
    if (!holds(parent, key)) throw new InvalidPayloadError('there is nothing at this place', place + pointer);
  }
  return { parent, key };
}

/** Undefined if it is not escaped properly. */
function unescaped(segment: string): string | undefined {
  if (!segment.includes('~')) return segment;
  if (/~(?![01])/.test(segment)) return undefined;
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

function holds(parent: unknown, key: string): boolean {
  if (Array.isArray(parent)) return /^(0|[1-9]\d*)$/.test(key) && Number(key) < parent.length;
  return typeof parent === 'object' && parent !== null && key !== '__proto__' && Object.hasOwn(parent, key);
}
