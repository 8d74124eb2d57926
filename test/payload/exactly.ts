/** Says where two values differ, down to −0, prototypes, hidden properties of errors and the order of keys. */
type Pair = readonly [unknown, unknown];

/** The paths at which they differ; an empty list: they are the same. */
export function differences(actual: unknown, expected: unknown, path = '$'): string[] {
  if (Object.is(actual, expected)) return [];
  if (!isObject(actual) || !isObject(expected)) return [path];
  if (Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected)) return [`${path} (prototype)`];
  if (actual === (expected as unknown)) return [`${path} (shared)`];
  return [...contents(actual), ...own(actual)].length === [...contents(expected), ...own(expected)].length
    ? zip([...contents(actual), ...own(actual)], [...contents(expected), ...own(expected)]).flatMap(([a, b]) => {
        const [[keyA, valueA], [keyB, valueB]] = [a as [unknown, unknown], b as [unknown, unknown]];
        const place = `${path}.${String(isObject(keyA) ? 'key' : keyA)}`;
        return [...differences(keyA, keyB, `${place} (key)`), ...differences(valueA, valueB, place)];
      })
    : [`${path} (size)`];
}

/** What an object holds beside its properties, as pairs. */
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
    return [...hidden.map((key): Pair => [key, Reflect.get(value, key)]), ['shown', `${value.name}`]];
  }
  return [];
}

function own(value: object): Pair[] {
  return ArrayBuffer.isView(value) ? [] : Object.entries(value);
}

function zip<T>(a: readonly T[], b: readonly T[]): (readonly [T, T])[] {
  return a.map((item, index) => [item, b[index] as T]);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
