/** Texts that a script must read but cannot, or can but should not: damaged payloads and variations of them. */
import { Dice, fuzzedPayloads } from './fuzzed-payloads';

type Twist = (bytes: Buffer, dice: Dice) => Buffer;

const behind =
  (...ends: readonly string[]): Twist =>
  (bytes, dice) =>
    Buffer.concat([bytes, Buffer.from(dice.pick(ends), 'latin1')]);

const within =
  (...parts: readonly string[]): Twist =>
  (bytes, dice) => {
    const at = dice.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(dice.pick(parts), 'latin1'), bytes.subarray(at)]);
  };

/** Replaces the brace at the end of an object. */
const ending =
  (...ends: readonly string[]): Twist =>
  (bytes, dice) =>
    Buffer.concat([bytes.subarray(0, Math.max(bytes.lastIndexOf('}'), 0)), Buffer.from(dice.pick(ends), 'latin1')]);

const TWISTS: readonly Twist[] = [
  (bytes) => bytes,
  behind('\0', '\0\0', '\0}', '\0 {"attempts":0}', '\0,"attempts":1}', '\0,"id":"x","attempts":0}'),
  within('\0', '\0}', '"\0"', '\\u0000', '\x01', '\x7f', '\n'),
  behind(' x', '}', ' \t\r\n', '{}', ',', ',"attempts":0}', ',"id":"x","attempts":3}', '\v', '\f', '\xa0'),
  behind('\xe6\xbc', '\xf0\x9f\x98', '\xff', '\xc3', '\xef\xbb\xbf'),
  within('\xe6\xbc', '\xf0\x9f\x98', '\xff', '\xc0\xaf', '\xed\xa0\x80'),
  ending(
    ...[',"attempts":9999999999999}', ',"attempts":99999999999999999999}', ',"attempts":-1}', ',"attempts":1e3}'],
    ...[',"crashes":1,"exceptions":02,"attempts":1}', ',"releases":1,"crashes":1,"attempts":1}', ',"attempts":}'],
    ...[',"id":"","attempts":0}', ',"id":7,"attempts":0}', ',"id":"\0","attempts":0}', ',"id":"a\\"","attempts":0}'],
    ...[',"id":{},"attempts":0}', ',"attempts":0,"attempts":5}', ',"attempts":NaN}', ',"timeouts":1,"attempts":0} '],
  ),
  (bytes) => Buffer.concat([Buffer.from('{'), bytes]),
  (bytes) => Buffer.concat([Buffer.from(' \n'), bytes]),
  (bytes, dice) => bytes.subarray(0, dice.below(40)),
  (_, dice) =>
    Buffer.from(dice.pick(['', ' ', '{', '}', '{}', '[]', 'null', '{"attempts":0}', '{,"attempts":0}', '"{}"'])),
];

/** `count` texts, all different. The same seed gives the same texts. */
export function hostileTexts(seed: number, count: number): readonly Buffer[] {
  const dice = new Dice(seed);
  const texts = new Map<string, Buffer>();
  for (let round = 0; texts.size < count; round += 1) {
    for (const { bytes } of fuzzedPayloads(seed + round, count)) {
      const text = dice.pick(TWISTS)(bytes, dice);
      if (texts.size < count) texts.set(text.toString('latin1'), text);
    }
  }
  return [...texts.values()];
}
