-- held.lua: the held jobs of a queue, for those that list, count or clear its jobs.

-- From the place `start` on, as texts. `members`: gets the members by their texts.
local function held_of(held, queue, members)
  return function(start, size)
    local texts = {}
    local first, last = '[' .. queue .. '\0', '(' .. queue .. '\1'
    for i, member in ipairs(call('ZRANGE', held, first, last, 'BYLEX', 'LIMIT', start, size)) do
      texts[i] = sub(member, find(member, '%z', #queue + 2) + 14)
      members[texts[i]] = member
    end
    return texts
  end
end

local function count_held(held, queue)
  if call('EXISTS', held) == 0 then return 0 end
  return call('ZLEXCOUNT', held, '[' .. queue .. '\0', '(' .. queue .. '\1')
end
