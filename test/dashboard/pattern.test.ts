import { Pattern } from '../../src/dashboard/scan';

const shown = (pattern: string, text: string): string | undefined => new Pattern(pattern).excerpt(text)?.text;

it('a text is found whatever its case, and marked as it is written', () => {
  expect(shown('ÉMILE', 'to émile and Émile')).toBe('<bdi>to <mark>émile</mark> and <mark>Émile</mark></bdi>');
  expect(shown('οδός', 'ΟΔΌΣ, ΟΔΌΣΑ')).toBe('<bdi><mark>ΟΔΌΣ</mark>, <mark>ΟΔΌΣ</mark>Α</bdi>');
  expect(shown('x', 'İİx')).toBe('<bdi>İİ<mark>x</mark></bdi>');
});

it('a quote is found as it is, and as JSON writes it', () => {
  expect(shown('a"b', String.raw`{"x":"a\"b"} a"b`)).toBe(
    String.raw`<bdi>{&quot;x&quot;:&quot;<mark>a\&quot;b</mark>&quot;} <mark>a&quot;b</mark></bdi>`,
  );
});

it('nothing is found that only a regular expression would find', () => {
  expect(shown('a.c', 'abc')).toBeUndefined();
});

it('a text that repeats itself takes no longer than others', () => {
  const text = 'a'.repeat(100_000_000);

  expect(new Pattern(`${'a'.repeat(299)}b`).isIn(text)).toBe(false);
  expect(new Pattern(`b${'a'.repeat(299)}`).isIn(text)).toBe(false);
});
