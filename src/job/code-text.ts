/**
 * Tells the code in a text of JavaScript from its comments and literals, as far as that goes without a parser. A class tells
 * nobody at run time that it has `#private` members; to look for them in its text as it is would find those in strings, too.
 *
 * Whether a `/` divides or opens a regular expression depends on what stands before it: on the token, on the word before a
 * bracket (`if (x) /a/`), on what a brace closed. Wrong is only what nobody writes: `x = function () {} / 2`.
 */

const SPACE = /\s+/y;
const COMMENT = /\/\/.*|\/\*[^]*?\*\//y;
const STRING = /'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"/y;
const REGULAR_EXPRESSION = /\/(?:\\.|\[(?:\\.|[^\]\\\n\r])*\]|[^/\\\n\r[])+\/[\w$]*/y;
const NUMBER = /\d[\w.]*/y;
const WORD = /(?:[\p{ID_Continue}$\u200c\u200d]|\\u[\da-fA-F]{4}|\\u\{[\da-fA-F]+\})+/uy;
const OPERATOR = /=>|\+\+|--|\.{3}|[^]/y;
/** Up to the end of a template, or to the code that is put into it. */
const TEMPLATE_TEXT = /(?:\\[^]|\$(?!\{)|[^`\\$])*(?:`|\$\{)?/y;

/** Words that a value follows, so that a `/` does not divide. */
const BEFORE_VALUE: ReadonlySet<string> = new Set(
  'return typeof instanceof in new delete void throw case yield await else do'.split(' '),
);

/** Words whose brackets a statement follows. */
const BEFORE_STATEMENT: ReadonlySet<string> = new Set(['if', 'while', 'for']);

/** Tokens, besides the end of a value, behind which a brace opens a block and no object. */
const BEFORE_BLOCK: ReadonlySet<string> = new Set(['', ';', '{', '}', ')', '=>', 'else', 'do']);

/** What a closing bracket will end: a value, that which a statement follows, or the code in a template. */
type Opened = 'value' | 'statement' | 'template';

/** The text with spaces for its comments, strings, templates and regular expressions; as long as it was. */
export function codeAlone(source: string): string {
  return new CodeText(source).alone();
}

class CodeText {
  readonly #source: string;
  readonly #opened: Opened[] = [];
  #alone = '';
  #at = 0;
  /** The token before. */
  #last = '';
  /** Whether a value has just ended. */
  #isValue = false;
  /** Whether the head of a statement has just begun. */
  #isHead = false;
  /** In how many templates, one in the code of the other. */
  #templates = 0;

  constructor(source: string) {
    this.#source = source;
  }

  alone(): string {
    while (this.#at < this.#source.length) this.#token();
    return this.#alone;
  }

  #token(): void {
    if (this.#read(SPACE) || this.#skip(COMMENT)) return;
    if (this.#skip(STRING) || (!this.#isValue && this.#skip(REGULAR_EXPRESSION))) return this.#after('value', true);
    if (this.#last !== '.' && this.#read(NUMBER)) return this.#after('value', true);
    const word = this.#read(WORD);
    if (word !== '') this.#word(word);
    else if (this.#source[this.#at] === '`') this.#template();
    else this.#operator(this.#read(OPERATOR));
  }

  #word(word: string): void {
    const isName = this.#last === '.' || this.#last === '#';
    if (!isName && (BEFORE_STATEMENT.has(word) || (word === 'await' && this.#isHead))) {
      this.#after(word, false);
      this.#isHead = true;
    } else {
      const isValue = isName || !BEFORE_VALUE.has(word);
      this.#after(isValue ? 'value' : word, isValue);
    }
  }

  #operator(operator: string): void {
    if (operator === '++' || operator === '--') return;
    let isValue = false;
    if (operator === '{') {
      this.#opened.push(this.#isValue || BEFORE_BLOCK.has(this.#last) ? 'statement' : 'value');
    } else if (operator === '(' || operator === '[') {
      this.#opened.push(this.#isHead ? 'statement' : 'value');
    } else if (operator === '}' || operator === ')' || operator === ']') {
      const opened = this.#opened.pop();
      if (opened === 'template') return this.#templateText();
      isValue = opened === 'value';
    }
    this.#after(operator, isValue);
  }

  #template(): void {
    this.#templates++;
    this.#skip(/`/y);
    this.#templateText();
  }

  #templateText(): void {
    if (this.#skip(TEMPLATE_TEXT).endsWith('${')) {
      this.#opened.push('template');
      this.#after('${', false);
    } else {
      this.#templates--;
      this.#after('value', true);
    }
  }

  #after(token: string, isValue: boolean): void {
    this.#last = token;
    this.#isValue = isValue;
    this.#isHead = false;
  }

  /** What stands here, if it is that; '' otherwise. */
  #read(token: RegExp): string {
    const text = this.#match(token);
    this.#alone += this.#templates > 0 ? ' '.repeat(text.length) : text;
    return text;
  }

  #skip(literal: RegExp): string {
    const text = this.#match(literal);
    this.#alone += ' '.repeat(text.length);
    return text;
  }

  #match(token: RegExp): string {
    token.lastIndex = this.#at;
    const text = token.exec(this.#source)?.[0] ?? '';
    this.#at += text.length;
    return text;
  }
}
