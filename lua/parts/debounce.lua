-- debounce.lua: debounced jobs: of a key one waits, and the push of another takes its place.
--
--   after texts.lua, unique.lua
--
--   What is kept of a key is a moment (µs), until which its jobs can be put off, or 0; ':'; the moment for which the
--   last one waits; a space; and its id. Once that moment is over, nobody takes its place.

-- Jobs that wait for one moment are looked through. We keep ours apart; those of others are not ours to move.
local MOST_OF_A_MOMENT, APART = 100, 10000

-- The job that waits, by what is kept of its key. Nil: none does.
local function waiting_of(delayed, kept, moment)
  local _, _, ending, due, id = find(kept or '', '^(%d+):(%d+) (.+)$')
  if not id or tonumber(due) <= moment then return nil end
  local when = score(tonumber(due))
  for _, text in ipairs(call('ZRANGEBYSCORE', delayed, when, when, 'LIMIT', 0, MOST_OF_A_MOMENT)) do
    if id_of(text) == id then return { id = id, ending = tonumber(ending), text = text } end
  end
end

-- What becomes of `count` entries, whose arguments begin at `first`; `ready` entries of the call are ready at once, and
-- `first_delayed` is where the others begin. `plans` has by their places when they are due, and which of them is gone
-- again by one behind it; `replaced` the places of those that took a place, each with the id of whose it was. All that
-- can be refused is asked for, but to write.
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
      -- Many may wait for one moment that was named, and not for one that is reckoned from now.
      if due > moment then due = due + nth + (byte(delay) == 64 and moment % APART or 0) end
    end
    local ending = last and last.ending or longest ~= '0' and moment + tonumber(longest) * 1000 or 0
    if ending > 0 then due = math.min(due, ending) end
    if last and last.id ~= id then replaced[#replaced + 1], replaced[#replaced + 2] = place, last.id end
    if last and last.place then
      plans[last.place].is_gone = true
    elseif last and (last.text ~= payload or due <= moment) then
      -- A client that did not hear of its push sends the very text again, and that gets its new moment.
      gone[#gone + 1] = last.text
    end
    plans[place] = { due = due }
    series[key] = due > moment and { id = id, ending = ending, due = due, place = place } or nil
  end
  if #gone > 0 then ask_to_remove(delayed) end
  call('HDEL', unique, nobody())
  return { keys = keys, before = before, series = series, plans = plans, replaced = replaced, gone = gone }
end

-- Keeps who waits under each key from now on, and gives what is to write the jobs: refused, it puts back what was kept.
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

-- Removes those whose places were taken, and keys under which nobody waits any more.
local function remove_replaced(unique, put, delayed)
  local over = {}
  for _, key in ipairs(put.keys) do
    if not put.series[key] then over[#over + 1] = key end
  end
  if #put.gone > 0 then call('ZREM', delayed, unpack(put.gone)) end
  if #over > 0 then redis.pcall('HDEL', unique, unpack(over)) end
end
