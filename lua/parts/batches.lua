-- batches.lua: how many jobs of a batch are left, and the jobs that it sends at its events.
--
--   after texts.lua, ties.lua
--
--   `src/connections/kit/batch-counts.ts` states the rules and implements them too. A hash holds, by a batch's id,
--   numbers separated by spaces: how many jobs are pending, completed, failed and skipped; when it began, was
--   cancelled and finished, and until when it is open (µs, or 0); for how long each call keeps it open (µs, or 0);
--   after how many jobs it reports progress (or 0); whether it allows failures; and the first letters of the events
--   that it has reported. `<id>:name` holds the name, `<id>:callbacks` the jobs to send, packed: for each the event;
--   the keys ready, delayed and notify; the delay; the payload up to its id; and the id.

local NUMBERS = '^' .. string.rep('(%-?%d+) ', 11) .. '(%a*)$'

-- Nil: the batch is not known.
local function batch_of(batches, id)
  local kept = call('HGET', batches, id)
  local _, _, pending, completed, failed, skipped, begun, cancelled, finished, open_until, open_for, every, allows,
    told = find(kept or '', NUMBERS)
  if not told then return nil end
  return {
    id = id, kept = kept, was_marked = cancelled ~= '0' and finished == '0', pending = tonumber(pending),
    completed = tonumber(completed), failed = tonumber(failed), skipped = tonumber(skipped),
    begun = tonumber(begun), cancelled = tonumber(cancelled), finished = tonumber(finished),
    open_until = tonumber(open_until), open_for = tonumber(open_for), every = tonumber(every),
    allows = allows == '1', told = told,
  }
end

local function numbers_of(batch)
  return format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %d %s', batch.pending, batch.completed, batch.failed,
    batch.skipped, batch.begun, batch.cancelled, batch.finished, batch.open_until, batch.open_for, batch.every,
    batch.allows and 1 or 0, batch.told)
end

-- Why the batch takes no more jobs. Nil: it does.
local function end_of(batch)
  if not batch then return 'unknown' end
  if batch.cancelled > 0 then return 'cancelled' end
  return batch.finished > 0 and 'finished' or nil
end

-- Changes the numbers. Returns the events to report, and the number of finished jobs to report as progress.
local function change(batch, by, moment)
  local events, ended_before = {}, batch.completed + batch.failed + batch.skipped
  local function tell_once(event)
    local letter = sub(event, 1, 1)
    if find(batch.told, letter, 1, true) then return end
    batch.told, events[#events + 1] = batch.told .. letter, event
  end
  batch.pending, batch.completed = batch.pending + (by.pending or 0), batch.completed + (by.completed or 0)
  batch.failed, batch.skipped = batch.failed + (by.failed or 0), batch.skipped + (by.skipped or 0)
  local has_failed = (by.failed or 0) > 0
  if has_failed or by.is_abandoned then tell_once('catch') end
  if has_failed and not batch.allows and batch.cancelled == 0 then batch.cancelled = moment end
  local ended = batch.completed + batch.failed + batch.skipped
  local number = batch.every > 0 and math.floor(ended / batch.every) * batch.every or 0
  if number > ended_before then events[#events + 1] = 'progress' end
  if batch.pending == 0 and batch.open_until == 0 and batch.finished == 0 then
    batch.finished = moment
    local have_completed, is_cancelled = batch.failed + batch.skipped == 0, batch.cancelled > 0
    if have_completed and not is_cancelled then tell_once('then') end
    tell_once('finally')
    if not is_cancelled and (have_completed or batch.allows) then tell_once('next') end
  end
  return events, number
end

-- The jobs that are sent for these events. Checks everything that may be refused, except the right to push.
local function jobs_of(batches, batch, events, number, cause, moment)
  local jobs = {}
  local packed = #events > 0 and not batch.callbacks and call('HGET', batches, batch.id .. ':callbacks')
  local callbacks = batch.callbacks or (packed and cmsgpack.unpack(packed)) or {}
  for _, event in ipairs(events) do
    for _, callback in ipairs(callbacks) do
      local on, ready, delayed, notify, delay, head, id = unpack(callback)
      if on == event then
        if on == 'catch' and cause and cause ~= '' then head = head .. '"cause":' .. cause .. ',' end
        if on == 'progress' then id = format('%s-%.0f', id, number) end
        local due = due_at(moment, delay)
        call('LLEN', notify)
        if due > moment then call('ZADD', delayed, 'XX', 0, nobody()) else call('LLEN', ready) end
        jobs[#jobs + 1] = {
          ready = ready, delayed = delayed, notify = notify, text = head .. '"id":"' .. id .. '","attempts":0}',
          -- A microsecond apart, so that jobs sent in order with one delay become ready in that order.
          due = due > moment and due + #jobs or nil,
        }
      end
    end
  end
  return jobs
end

-- What to write for a batch that was read, and perhaps changed in other ways. Checks everything that may be refused.
local function step_of(batches, cancelled_batches, batch, by, moment)
  call('HDEL', batches, nobody())
  local events, number = change(batch, by, moment)
  local is_marked = batch.cancelled > 0 and batch.finished == 0
  if is_marked or batch.was_marked then
    ask_to_remove(cancelled_batches)
    call('ZADD', cancelled_batches, 'XX', 0, nobody())
  end
  return {
    batches = batches, cancelled_batches = cancelled_batches, id = batch.id, moment = moment, before = batch.kept,
    fields = { batch.id, numbers_of(batch) }, is_marked = is_marked, was_marked = batch.was_marked or false,
    jobs = jobs_of(batches, batch, events, number, by.cause, moment),
  }
end

-- The same for a batch by its id. Nil: it is not known, and whoever forgot it does not want to hear of it.
local function step_by_id(batches, cancelled_batches, id, by, moment)
  local batch = batch_of(batches, id)
  return batch and step_of(batches, cancelled_batches, batch, by, moment)
end

-- Whoever is handed jobs of a marked batch is told that they are cancelled.
local function mark_batch(write, step, is_marked)
  if is_marked then write('ZADD', step.cancelled_batches, score(step.moment), step.id)
  else write('ZREM', step.cancelled_batches, step.id) end
end

local function write_step(step)
  call('HSET', step.batches, unpack(step.fields))
  if step.is_marked ~= step.was_marked then mark_batch(call, step, step.is_marked) end
  for _, job in ipairs(step.jobs) do
    if not job.due then call('RPUSH', job.ready, job.text) end
  end
  for _, job in ipairs(step.jobs) do
    if job.due then call('ZADD', job.delayed, score(job.due), job.text) end
    pcall(leave_hint, job.notify)
  end
end

local function take_back(step)
  if step.before then
    redis.pcall('HSET', step.batches, step.id, step.before)
  else
    for field = 1, #step.fields, 2 do redis.pcall('HDEL', step.batches, step.fields[field]) end
  end
  if step.is_marked ~= step.was_marked then mark_batch(redis.pcall, step, step.was_marked) end
end

local function write_all(steps, rest, ...)
  for _, step in ipairs(steps) do write_step(step) end
  return rest and rest(...)
end

-- Writes the steps, then calls `rest`, if given, which removes last. If anything is refused, the batches are restored.
local function carry_out(steps, rest, ...)
  local done, result = pcall(write_all, steps, rest, ...)
  if done then return result end
  for _, step in ipairs(steps) do take_back(step) end
  error(result)
end

-- The steps of batches whose jobs are gone without having run.
local function steps_without(batches, cancelled_batches, texts, moment)
  local ids, weights, steps = {}, {}, {}
  if call('EXISTS', batches) == 0 then return steps end
  for _, text in ipairs(texts) do
    local id, weight = batch_in(text)
    if id and not weights[id] then ids[#ids + 1], weights[id] = id, 0 end
    if id then weights[id] = weights[id] + weight end
  end
  for _, id in ipairs(ids) do
    local weight = weights[id]
    steps[#steps + 1] = step_by_id(batches, cancelled_batches, id, { pending = -weight, skipped = weight }, moment)
  end
  return steps
end
