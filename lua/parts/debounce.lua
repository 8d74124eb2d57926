-- debounce.lua: debounced jobs: one job waits per key, and the push of another takes its place.
--
--   after texts.lua, unique.lua
--
--   The value of a key: the moment (µs) until which its jobs can be put off, or 0; ':'; the moment for which the last
--   one waits; a space; and its id. After that moment, nobody takes its place.

-- Most jobs of one moment that are searched. We spread our own jobs; those of others are not ours to move.
local MOST_OF_A_MOMENT, APART = 100, 10000

-- The job that waits, by its key's value. Nil: none does.
local function waiting_of(delayed, kept, moment)
  local _, _, ending, due, id = find(kept or '', '^(%d+):(%d+) (.+)$')
  if not id or tonumber(due) <= moment then return nil end
  local when = score(tonumber(due))
  for _, text in ipairs(call('ZRANGEBYSCORE', delayed, when, when, 'LIMIT', 0, MOST_OF_A_MOMENT)) do
    if id_of(text) == id then return { id = id, ending = tonumber(ending), text = text } end
  end
end

-- Plans `count` entries, whose arguments begin at `first`; `ready` entries of the call are ready at once, and
-- `first_delayed` is where the others begin. `plans` tells, by place, when entries are due, and which of them is
-- already replaced by a later one; `replaced` has the places of entries that replace a job, each with that job's id.
-- Checks everything that may be refused, except the writes.
local function put_off(unique, delayed, first, count, ready, first_delayed, moment)
  local keys, series, plans, replaced, gone = {}, {}, {}, {}, {}
  for i = 1, count do keys[i] = ARGV[first + 3 * i - 2] end
  local before = call('HMGET', unique, unpack(keys))
  for i, kept in ipairs(before) do series[keys[i]] = series[keys[i]] or waiting_of(delayed, kept, moment) end
  for i, key in ipairs(keys) do
    local at = first + 3 * (i - 1)
    local place, _, _, longest, id = tonumber(ARGV[at]), find(ARGV[at + 2], KEPT_FORM)
    local due, payload, last = moment, nil, series[key]
    if place > ready then
      local nth = place - ready - 1
      local delay = ARGV[first_delayed + 3 * nth + 1]
      payload = ARGV[first_delayed + 3 * nth + 2]
      due = due_at(moment, delay)
      -- Many jobs may wait for one named moment, but not for one computed from now.
      if due > moment then due = due + nth + (byte(delay) == 64 and moment % APART or 0) end
    end
    local ending = last and last.ending or longest ~= '0' and moment + tonumber(longest) * 1000 or 0
    if ending > 0 then due = math.min(due, ending) end
    if last and last.id ~= id then replaced[#replaced + 1], replaced[#replaced + 2] = place, last.id end
    if last and last.place then
      plans[last.place].is_gone = true
    elseif last and (last.text ~= payload or due <= moment) then
      -- A client that got no answer to its push sends the same text again, and that gets its new moment.
      gone[#gone + 1] = last.text
    end
    plans[place] = { due = due }
    series[key] = due > moment and { id = id, ending = ending, due = due, place = place } or nil
  end
  if #gone > 0 then ask_to_remove(delayed) end
  call('HDEL', unique, nobody())
  return { keys = keys, before = before, series = series, plans = plans, replaced = replaced, gone = gone }
end

-- Writes who waits under each key from now on, and returns the function that writes the jobs: if it is refused, it
-- restores the keys.
local function wait_under(unique, put, write)
  local fields = {}
  for key, one in pairs(put.series) do
    fields[#fields + 1], fields[#fields + 2] = key, format('%.0f:%.0f %s', one.ending, one.due, one.id)
  end
  if #fields > 0 then write('HSET', unique, unpack(fields)) end
  return function(...)
    local done, problem = pcall(write, ...)
    if done then return end
    for i, key in ipairs(put.keys) do
      if put.before[i] then redis.pcall('HSET', unique, key, put.before[i]) else redis.pcall('HDEL', unique, key) end
    end
    error(problem)
  end
end

-- Removes the replaced jobs, and keys under which nobody waits any more.
local function remove_replaced(unique, put, delayed)
  local over = {}
  for _, key in ipairs(put.keys) do
    if not put.series[key] then over[#over + 1] = key end
  end
  if #put.gone > 0 then call('ZREM', delayed, unpack(put.gone)) end
  if #over > 0 then redis.pcall('HDEL', unique, unpack(over)) end
end
