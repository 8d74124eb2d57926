/** The marks of an axis: round numbers from 0 to the largest value. */

const STEPS = [1, 2, 2.5, 5, 10];

/** Up to five marks; the last one is `most` or more. */
export function ticksUpTo(most: number): readonly number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = STEPS.map((each) => each * power).find((each) => each * 4 >= most * (1 - 1e-9))!;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, place) => Number((place * step).toPrecision(12)));
}
