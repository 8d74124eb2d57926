/** The few numbers that matter most. */
import { html, type Html } from '../html';
import { numberText } from './number';

export interface KeyNumber {
  readonly label: string;
  readonly value: string | number;
  readonly tone?: 'good' | 'warn' | 'bad' | false | undefined;
  /** Where to see more of it. */
  readonly href?: string | false | undefined;
}

/** @param numbers false: it is unknown */
export function keyNumbers(numbers: readonly (KeyNumber | false)[]): Html {
  const one = ({ label, value, tone, href }: KeyNumber): Html => {
    const text = typeof value === 'number' ? numberText(value) : value;
    return html`<div><dt>${label}</dt><dd${tone && html` class="${tone}"`}>${href ? html`<a href="${href}">${text}</a>` : text}</dd></div>`;
  };
  return html`<dl class="key-numbers">${numbers.filter((number) => number !== false).map(one)}</dl>`;
}
