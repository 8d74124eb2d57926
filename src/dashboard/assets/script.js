/* With morph.js the whole script of the dashboard. Without it all pages and actions work; with it they stay up to date. */
(() => {
  const main = document.getElementById('main');
  const button = document.getElementById('pause-updates');
  const state = document.getElementById('state');

  const UNITS = [
    [86400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  // In two units at most, as the server writes it.
  const spanText = (seconds) => {
    const first = UNITS.findIndex(([length]) => seconds >= length);
    const [length, unit] = UNITS[first];
    const [less, smaller] = UNITS[first + 1] ?? [1];
    const rest = Math.floor((seconds % length) / less);
    return `${Math.floor(seconds / length)} ${unit}${smaller && rest ? ` ${rest} ${smaller}` : ''}`;
  };
  const ageText = (at) => {
    const seconds = Math.floor(Math.abs(at - now()) / 1000);
    if (seconds < 1) return 'now';
    return at < now() ? `${spanText(seconds)} ago` : `in ${spanText(seconds)}`;
  };
  // By the clock of the server: that of the viewer may be wrong.
  const ahead = Date.now() - Number(main?.dataset.now ?? Date.now());
  const now = () => Date.now() - ahead;

  const HOUR = { hour: '2-digit', minute: '2-digit' };
  const DATE = { day: 'numeric', month: 'short' };
  const CLOCKS = { time: HOUR, day: { weekday: 'short', ...HOUR }, date: DATE, minute: { ...DATE, ...HOUR } };

  // Shows moments in the viewer's time zone.
  const localise = (root) => {
    for (const time of root.querySelectorAll('time')) {
      const at = new Date(time.dateTime);
      time.title = at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
      const { clock } = time.dataset;
      if (clock) time.textContent = at.toLocaleString(undefined, CLOCKS[clock]);
    }
  };

  const update = ({ trouble, title, ids, markup }) => {
    if (trouble === undefined) return;
    // A page that only shows its trouble says it already.
    const told = document.getElementById('trouble') ? '' : trouble;
    if (state.textContent !== told) state.textContent = told;
    if (!ids) return;
    const heading = main.querySelector('h1');
    if (heading.textContent !== title) {
      heading.textContent = title;
      document.title = `${title} – Onqueue`;
    }
    const box = document.createElement('template');
    box.innerHTML = markup;
    localise(box.content);
    const focused = document.activeElement;
    const rows = [...(focused?.closest('table')?.rows ?? [])];
    const at = rows.indexOf(focused?.closest('tr'));
    let before = state;
    for (const id of ids) {
      const shown = document.getElementById(id);
      const next = box.content.getElementById(id);
      if (shown && next) morph(shown, next);
      else if (next) before.after(next);
      before = shown ?? next;
    }
    for (const part of [...main.querySelectorAll(':scope > .part')]) if (!ids.includes(part.id)) part.remove();
    for (const readout of main.querySelectorAll('.readout[data-moment]')) repoint(readout);
    if (focused === document.activeElement) return;
    // A row that has moved has lost the focus. If the row is gone, the link of a neighbour gets the focus, where a key pressed
    // now does no harm.
    const near = [...rows.slice(at), ...rows.slice(0, at).toReversed()].find((row) => row.isConnected);
    (focused.isConnected ? focused : (near?.querySelector('a') ?? main)).focus({ preventScroll: true });
  };

  // A page that is not updated any more must not look as if it were.
  const updated = document.getElementById('updated');
  let updatedAt = now();
  const tick = () => {
    if (document.hidden) return;
    for (const time of main.querySelectorAll('time:not([data-clock])')) {
      const text = ageText(Date.parse(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
    const text = `Updated ${ageText(updatedAt)}`;
    if (updated.textContent !== text) updated.textContent = text;
    updated.className = now() - updatedAt > 15000 ? 'warn' : 'soft';
  };

  let source;
  let isPaused = false;
  let wait = 1000;
  const close = () => {
    source?.close();
    source = undefined;
  };
  const open = () => {
    if (isPaused || document.hidden || source || !main?.dataset.live) return;
    source = new EventSource(location.href);
    source.addEventListener('message', ({ data }) => {
      wait = 1000;
      const change = JSON.parse(data);
      if (!change.trouble) updatedAt = now();
      update(change);
      tick();
    });
    source.addEventListener('error', () => {
      close();
      // The server ends the connection itself from time to time.
      if (wait > 1000) state.textContent = 'Updates have stopped: the dashboard cannot be reached. Trying again.';
      setTimeout(open, (wait = Math.min(wait * 2, 30000)));
    });
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  button?.addEventListener('click', () => {
    isPaused = !isPaused;
    button.setAttribute('aria-pressed', isPaused);
    if (isPaused) close();
    else open();
  });

  // The values of a chart are in its table; shown one by one, under the pointer and by the arrow keys.
  const point = (chart, place) => {
    const rows = chart.querySelectorAll('tbody tr');
    const at = Math.max(0, Math.min(place, rows.length - 1));
    const labels = [...chart.querySelectorAll('thead th')].slice(1);
    const [moment, ...values] = rows[at].children;
    const readout = chart.querySelector('.readout');
    readout.dataset.moment = rows[at].dataset.key;
    readout.textContent =
      `${moment.textContent}: ` + values.map((cell, n) => `${cell.textContent} ${labels[n].textContent}`).join(', ');
    const cursor = chart.querySelector('.cursor');
    cursor.style.left = `${((at + 0.5) / rows.length) * 100}%`;
    cursor.hidden = false;
  };
  const placeOf = (chart) => {
    const { moment } = chart.querySelector('.readout').dataset;
    return [...chart.querySelectorAll('tbody tr')].findIndex((row) => row.dataset.key === moment);
  };
  // After an update: the same moment, which may be at another place, or have left the chart.
  const repoint = (readout) => {
    const chart = readout.closest('.chart');
    const at = placeOf(chart);
    if (at >= 0) return point(chart, at);
    delete readout.dataset.moment;
    readout.textContent = '';
    chart.querySelector('.cursor').hidden = true;
  };
  document.addEventListener('pointermove', ({ target, clientX }) => {
    const plot = target.closest?.('.plot');
    if (!plot) return;
    const { left, width } = plot.getBoundingClientRect();
    const chart = plot.closest('.chart');
    point(chart, Math.floor(((clientX - left) / width) * chart.querySelectorAll('tbody tr').length));
  });
  document.addEventListener('keydown', (event) => {
    const { target, key } = event;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step || !target.matches('.chart')) return;
    event.preventDefault();
    const at = placeOf(target);
    point(target, (at < 0 ? target.querySelectorAll('tbody tr').length : at) + step);
  });

  // A stretch that is drawn over a chart becomes the time that the page shows.
  let drawnFrom;
  const momentAt = (plot, clientX) => {
    const rows = [...plot.closest('.chart').querySelectorAll('tbody tr')].map((row) => Number(row.dataset.key));
    const { left, width } = plot.getBoundingClientRect();
    const step = rows[1] - rows[0];
    const place = Math.max(0, Math.min((clientX - left) / width, 1)) * rows.length;
    return rows[0] + Math.round(place) * step;
  };
  document.addEventListener('pointerdown', ({ target, clientX, button: pressed }) => {
    const plot = pressed === 0 && document.querySelector('.ranges') && target.closest?.('.plot');
    drawnFrom = plot ? { plot, at: momentAt(plot, clientX), clientX } : undefined;
  });
  document.addEventListener('pointerup', ({ clientX }) => {
    if (!drawnFrom || Math.abs(clientX - drawnFrom.clientX) < 12) return;
    const [from, to] = [drawnFrom.at, momentAt(drawnFrom.plot, clientX)].toSorted((a, b) => a - b);
    if (!(from < to)) return;
    const query = new URLSearchParams(location.search);
    query.delete('within');
    query.set('from', new Date(from).toISOString());
    query.set('to', new Date(to).toISOString());
    location.search = query;
  });

  const dialog = document.getElementById('shortcuts');
  const OFF = 'onqueue-keys-off';
  // The pages of the navigation by their first letters, and the runs.
  const placeOfKey = (key) => {
    const links = [...document.querySelectorAll('.top nav a')];
    return key === 'r' ? 'runs' : links.find(({ text }) => text[0].toLowerCase() === key)?.href;
  };
  let isGoing = false;
  const nextRow = (step) => {
    const rows = [...main.querySelectorAll('tbody tr')].filter((row) => row.offsetParent && row.querySelector('a'));
    const at = rows.indexOf(document.activeElement?.closest('tr'));
    rows[Math.max(0, Math.min(at + step, rows.length - 1))]?.querySelector('a').focus();
  };
  document.addEventListener('keydown', (event) => {
    const { target, key, ctrlKey, metaKey, altKey } = event;
    if (!dialog || ctrlKey || metaKey || altKey || dialog.open || target.closest('input, select, textarea')) return;
    if (key !== '?' && localStorage.getItem(OFF)) return;
    const place = isGoing && placeOfKey(key);
    isGoing = key === 'g';
    if (place) location.href = place;
    else if (key === '/') document.querySelector('[type=search]').focus();
    else if (key === '?') {
      localStorage.removeItem(OFF);
      dialog.showModal();
    } else if (key === 'j' || key === 'k') nextRow(key === 'j' ? 1 : -1);
    else return;
    event.preventDefault();
  });
  dialog?.addEventListener('close', () => {
    if (dialog.returnValue === 'off') localStorage.setItem(OFF, '1');
    dialog.returnValue = '';
  });
  // On a phone the navigation is wider than the screen.
  const nav = document.querySelector('.top nav');
  const current = nav?.querySelector('[aria-current]');
  if (current) nav.scrollLeft = current.offsetLeft + current.offsetWidth - nav.offsetLeft - nav.clientWidth;
  // The browser has gone to the row that was acted on, and takes the focus from what was done.
  addEventListener('load', () => setTimeout(() => document.querySelector('.notice')?.focus({ preventScroll: true })));

  document.addEventListener('change', ({ target }) => {
    if (target.matches('[data-all]'))
      for (const box of target.closest('table').querySelectorAll('tbody input[type=checkbox]'))
        box.checked = target.checked;
  });
  document.addEventListener('click', ({ target }) => {
    const copy = target.closest('[data-copy]');
    if (!copy) return;
    const text = copy.dataset.copy || document.getElementById(copy.dataset.of)?.textContent;
    void navigator.clipboard?.writeText(text).then(() => {
      copy.dataset.done = '';
      setTimeout(() => delete copy.dataset.done, 1500);
    });
  });

  if (main?.dataset.live && button) {
    button.hidden = updated.hidden = false;
    setInterval(tick, 1000);
    tick();
  }
  localise(document);
  open();
})();
