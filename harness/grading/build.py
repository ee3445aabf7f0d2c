from trainers.types import Grade
class G:
    def __enter__(self): return self
    def __exit__(self,*a): pass
    def __call__(self, g, t, fin):
        out=[]
        for y,x,f in zip(g,t,fin):
            a=x.rsplit('#',1)[-1] if '#' in x and f else None
            out.append(Grade('correct' if a==y else 'incorrect' if a else 'unparseable',a))
        return out
def make_grader(spec): return G()
