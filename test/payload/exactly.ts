/** Finds where two values differ, including −0, prototypes, hidden properties of errors and the order of keys. */
type Pair = readonly [unknown, unknown];

/** The paths at which they differ. Empty if they are equal and share no object. */
export function differences(actual: unknown, expected: unknown, path = '$'): string[] {
  if (!isObject(actual) || !isObject(expected)) return Object.is(actual, expected) ? [] : [path];
  if (actual === expected) return [`${path} (shared)`];
  if (Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected)) return [`${path} (prototype)`];
  const [found, wanted] = [membersOf(actual), membersOf(expected)];
  if (found.length !== wanted.length) return [`${path} (size)`];
  return found.flatMap(([key, value], index) => {
    const [wantedKey, wantedValue] = wanted.at(index)!;
    const place = `${path}.${isObject(key) ? index : String(key)}`;
    return [...differences(key, wantedKey, `${place} (key)`), ...differences(value, wantedValue, place)];
  });
}

function membersOf(value: object): Pair[] {
  return [...contents(value), ...(ArrayBuffer.isView(value) ? [] : Object.entries(value))];
}

/** What an object holds besides its properties, as pairs. */
function contents(value: object): Pair[] {
  if (value instanceof Date) return [['time', value.getTime()]];
  if (value instanceof Map) return [...value];
  if (value instanceof Set) return [...value].map((item, index) => [index, item]);
  if (value instanceof URL) return [['href', value.href]];
  if (value instanceof RegExp)
    return [
      ['source', value.source],
      ['flags', value.flags],
      ['lastIndex', value.lastIndex],
    ];
  if (value instanceof ArrayBuffer) return [['bytes', Buffer.from(value).toString('hex')]];
  if (ArrayBuffer.isView(value)) {
    return [['bytes', Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')]];
  }
  if (value instanceof Error) {
    const hidden = ['name', 'message', 'stack', 'cause', 'errors'].filter((key) => Object.hasOwn(value, key));
    return [...hidden.map((key): Pair => [key, Reflect.get(value, key)]), ['shown', value.name]];
  }
  return [];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
