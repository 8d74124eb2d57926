-- refresh.lua: makes due jobs ready, and takes back the jobs of silent workers.
--
--   after texts.lua, tied.lua, budget.lua; needs aside.lua, passage.lua

-- Due jobs go to the tail of the ready list, in the order in which they became due, unless their lane is full. `due`:
-- how many there are.
local function promote(turn, queue, now, due)
  turn.promotions = turn.promotions or new_budget()
  ask_to_remove(queue.delayed)
  local texts, size, fits = {}, 1, true
  repeat
    for _, text in ipairs(call('ZRANGEBYSCORE', queue.delayed, '-inf', now, 'LIMIT', #texts, size)) do
      fits = fits and charge(turn.promotions, text)
      if fits then texts[#texts + 1] = text end
    end
    size = math.min(size_after(size, turn.promotions), due - #texts)
  until not fits or size == 0
  if #texts > 0 then
    if type(redis.pcall('HGET', turn.lanes, '#' .. queue.ready)) == 'string' then
      need('make_ready')(turn, queue, texts, true)
    else
      call('RPUSH', queue.ready, unpack(texts))
      queue.filled = true
    end
    call('ZREM', queue.delayed, unpack(texts))
  end
end

-- Jobs whose lease has ended go to the head, before all waiting jobs, in the order in which their leases ended.
-- `ended`: how many there are.
local function reclaim(turn, queue, place, now, ended)
  turn.reclaims = turn.reclaims or new_budget()
  ask_to_remove(queue.reserved)
  local gone, back, unreadable, seen, size, fits = {}, {}, {}, 0, 1, true
  repeat
    local page = call('ZRANGEBYSCORE', queue.reserved, '-inf', now, 'LIMIT', seen, size)
    for _, text in ipairs(page) do
      fits = charge(turn.reclaims, text)
      if not fits then break end
      seen = seen + 1
      local reclaimed = reclaimed_text(text)
      if reclaimed then
        gone[#gone + 1] = text
        table.insert(back, 1, reclaimed)
      else
        unreadable[#unreadable + 1] = text
      end
    end
    size = math.min(size_after(size, turn.reclaims), ended - seen)
  until not fits or size == 0
  if #back > 0 then
    call('LPUSH', queue.ready, unpack(back))
    queue.filled = true
    call('ZREM', queue.reserved, unpack(gone))
    for i = #back, 1, -1 do retake(turn, back[i]) end
  end
  for _, text in ipairs(unreadable) do
    need('set_aside')(turn, queue, place, text)
    call('ZREM', queue.reserved, text)
  end
end
