/** The few numbers that matter most. */
import { html, type Html } from '../html';

export interface KeyNumber {
  readonly label: string;
  readonly value: string;
  readonly tone?: 'good' | 'warn' | 'bad' | undefined;
  /** Where to see more of it. */
  readonly href?: string | undefined;
}

export function keyNumbers(numbers: readonly KeyNumber[]): Html {
  const one = ({ label, value, tone, href }: KeyNumber): Html =>
    html`<div><dt>${label}</dt><dd${tone && html` class="${tone}"`}>${href === undefined ? value : html`<a href="${href}">${value}</a>`}</dd></div>`;
  return html`<dl class="key-numbers">${numbers.map(one)}</dl>`;
}
